"""Decisions over HTTP: a Starlette application in front of the bandits of a database.

`routes` is the table of operations, and `handlers` has one function for each of them; `application` admits requests and decodes
them; `service` is what the handlers share; `server` runs all of it on uvicorn.
"""
