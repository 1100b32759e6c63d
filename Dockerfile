# The decision service: `docker build -t rotting .`, then `docker compose up`.
FROM python:3.13-slim

# Numba keeps what it compiles beside the store, so that the next container starts at once.
ENV PYTHONUNBUFFERED=1 NUMBA_CACHE_DIR=/data/compiled
RUN useradd --create-home --uid 1000 rotting && install --directory --owner=rotting /data
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN pip install --no-cache-dir '/source[service]' && rm -rf /source
USER rotting
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
ENTRYPOINT ["rotting"]
CMD ["serve", "/data/songs.rot", "--host", "0.0.0.0", "--port", "8000", "--token-file", "/data/tokens"]
