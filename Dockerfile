# The decision service: `docker build -t rotting .`, then `docker compose up`.
# The base image is pinned by its digest (3.13.15 on Debian trixie), in both stages; Dependabot proposes newer ones.
FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS build

ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /build && python -m venv --without-pip /opt/rotting
COPY requirements-build.lock requirements-service.lock /source/
RUN /build/bin/pip install --require-hashes --only-binary :all: -r /source/requirements-build.lock
RUN /build/bin/pip --python /opt/rotting install --require-hashes --only-binary :all: -r /source/requirements-service.lock
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN cd /source && /build/bin/hatchling build --target wheel
RUN /build/bin/pip --python /opt/rotting install --no-deps /source/dist/*.whl

# What runs has neither pip of its own nor the build backend, only the installed packages, which the user cannot write to.
FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

# Numba's cache holds machine code that is loaded and run: it has a volume of its own, so that no backup of the data carries it.
ENV PATH=/opt/rotting/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 NUMBA_CACHE_DIR=/var/cache/rotting
RUN useradd --create-home --uid 1000 rotting && install --directory --owner=rotting --group=rotting /data /var/cache/rotting
COPY --from=build /opt/rotting /opt/rotting
USER rotting
VOLUME ["/data", "/var/cache/rotting"]
EXPOSE 8000
STOPSIGNAL SIGTERM
# /readyz fails when turns do not end or the store cannot be reached, not only when nothing answers.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/readyz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["rotting"]
CMD ["serve", "/data/songs.rot", "--host", "0.0.0.0", "--port", "8000", "--token-file", "/data/tokens"]
