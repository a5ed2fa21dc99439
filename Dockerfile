# syntax=docker/dockerfile:1
# Two images from one file. `docker build .` makes the agent's: its Python environment and the sandbox
# worker, run as nobody. `docker build --target service .` makes the control plane's: its environment
# and the built dashboard.

FROM golang:1.26-bookworm AS sandbox
WORKDIR /src
COPY sandbox/go.mod sandbox/go.sum ./
RUN go mod download
COPY sandbox/ ./
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/gitops-sandbox .

FROM node:24-bookworm-slim AS dashboard
WORKDIR /src/web
COPY web/package.json web/package-lock.json ./
RUN npm ci
COPY web/ ./
RUN npm run build

FROM python:3.11-slim-bookworm AS sources
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY bus/ bus/
COPY handlers/ handlers/
COPY agent/ agent/
COPY cli/ cli/

FROM sources AS wheel
COPY requirements.image.lock ./
RUN python -m venv /opt/gitops \
 && /opt/gitops/bin/pip install --no-cache-dir --require-hashes -r requirements.image.lock
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
 && /opt/gitops/bin/pip install --no-cache-dir --no-deps /wheels/*.whl

FROM sources AS service-wheel
COPY requirements.service.lock ./
RUN python -m venv /opt/gitops \
 && /opt/gitops/bin/pip install --no-cache-dir --require-hashes -r requirements.service.lock
COPY service/ service/
COPY --from=dashboard /src/service/static service/static
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
 && /opt/gitops/bin/pip install --no-cache-dir --no-deps /wheels/*.whl

FROM python:3.11-slim-bookworm AS service
# Debian's stable release has one version of it, and its security updates must get in.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 gitops \
 && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin gitops
COPY --from=service-wheel /opt/gitops /opt/gitops
ENV PATH=/opt/gitops/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    GITOPS_SERVICE_HOST=0.0.0.0 \
    GITOPS_SERVICE_PORT=8090 \
    GITOPS_SERVICE_METRICS_PORT=8091
USER 10001:10001
EXPOSE 8090
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"GITOPS_SERVICE_PORT\"]}/healthz', timeout=2)"]
ENTRYPOINT ["gitops"]
CMD ["service", "run"]

FROM python:3.11-slim-bookworm AS agent
# Debian's stable release has one version of these, and its security updates must get in.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 gitops \
 && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin gitops \
 && install -d -o 10001 -g 10001 /var/lib/gitops
COPY --from=sandbox /out/gitops-sandbox /usr/local/bin/gitops-sandbox
COPY --from=wheel /opt/gitops /opt/gitops
ENV PATH=/opt/gitops/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    GITOPS_SANDBOX_BINARY=/usr/local/bin/gitops-sandbox \
    GITOPS_STATE_DIR=/var/lib/gitops \
    GITOPS_HTTP_HOST=0.0.0.0 \
    GITOPS_HTTP_PORT=8080 \
    GITOPS_HTTP_METRICS_PORT=8081
USER 10001:10001
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"GITOPS_HTTP_METRICS_PORT\"]}/healthz', timeout=2)"]
ENTRYPOINT ["gitops"]
CMD ["agent", "run"]
