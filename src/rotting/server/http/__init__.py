"""Decisions over HTTP: a Starlette application in front of the bandits of a database.

`handlers` has one function for each operation, and `routes` makes the OpenAPI document from what is said there; `application`
admits requests and decodes them; `service` is what the handlers share; `server` runs all of it on uvicorn.
"""
