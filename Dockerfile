# syntax=docker/dockerfile:1
# Two images from one file. `docker build .` makes the agent's: its Python environment and the sandbox
# worker, run as nobody. `docker build --target service .` makes the control plane's: its environment
# and the built dashboard. The three base images are arguments: the public ones by default; `make images`
# can give ones made from Debian's packages, where no registry of images can be reached.
ARG GO_IMAGE=golang:1.26-bookworm
ARG NODE_IMAGE=node:24-bookworm-slim
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${GO_IMAGE} AS sandbox
WORKDIR /src
COPY sandbox/worker/go.mod sandbox/worker/go.sum ./
RUN --mount=type=cache,target=/root/go/pkg/mod GOMODCACHE=/root/go/pkg/mod go mod download
COPY sandbox/worker/ ./
RUN --mount=type=cache,target=/root/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOMODCACHE=/root/go/pkg/mod CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/gitops-sandbox .

FROM ${GO_IMAGE} AS plugins
WORKDIR /src
COPY sandbox/plugins/go.mod sandbox/plugins/go.sum ./
RUN --mount=type=cache,target=/root/go/pkg/mod GOMODCACHE=/root/go/pkg/mod go mod download
COPY sandbox/plugins/ ./
RUN --mount=type=cache,target=/root/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOMODCACHE=/root/go/pkg/mod CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/gitops-plugins .

FROM ${GO_IMAGE} AS sops
WORKDIR /src
COPY sandbox/sops/go.mod sandbox/sops/go.sum ./
RUN --mount=type=cache,target=/root/go/pkg/mod GOMODCACHE=/root/go/pkg/mod go mod download
COPY sandbox/sops/ ./
RUN --mount=type=cache,target=/root/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOMODCACHE=/root/go/pkg/mod CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/gitops-sops .

FROM ${NODE_IMAGE} AS dashboard
WORKDIR /src/web
COPY web/package.json web/package-lock.json ./
RUN --mount=type=cache,target=/root/.npm npm ci
COPY web/ ./
RUN npm run build

# An environment without pip in it, filled by the pip of another one: what runs cannot install.
FROM ${PYTHON_IMAGE} AS environment
RUN python -m venv /opt/build && python -m venv --without-pip /opt/gitops
ENV PATH=/opt/build/bin:$PATH \
    PIP_PYTHON=/opt/gitops/bin/python
WORKDIR /src

# What others wrote is a layer of its own: a release that changes none of it is a small download.
FROM environment AS dependencies
COPY requirements.image.lock ./
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --require-hashes -r requirements.image.lock

FROM environment AS service-dependencies
COPY requirements.service.lock ./
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --require-hashes -r requirements.service.lock

FROM environment AS sources
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY bus/ bus/
COPY handlers/ handlers/
COPY agent/ agent/
COPY cli/ cli/
COPY sandbox/__init__.py sandbox/
COPY sandbox/client/ sandbox/client/

FROM sources AS wheel
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --no-deps --root /out .

FROM sources AS service-wheel
COPY service/ service/
COPY --from=dashboard /src/service/static service/static
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --no-deps --root /out .

FROM ${PYTHON_IMAGE} AS service
# Debian's stable release has one version of it, and its security updates must get in.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates \
 && apt-get clean && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 gitops \
 && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin gitops
COPY --from=service-dependencies /opt/gitops /opt/gitops
COPY --from=service-wheel /out/opt/gitops /opt/gitops
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

FROM ${PYTHON_IMAGE} AS agent
# Debian's stable release has one version of these, and its security updates must get in.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git gpg openssh-client \
 && apt-get clean && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 gitops \
 && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin gitops \
 && install -d -o 10001 -g 10001 /var/lib/gitops
COPY --from=dependencies /opt/gitops /opt/gitops
COPY --from=sandbox /out/gitops-sandbox /usr/local/bin/gitops-sandbox
COPY --from=plugins /out/gitops-plugins /usr/local/bin/gitops-plugins
COPY --from=sops /out/gitops-sops /usr/local/bin/gitops-sops
COPY --from=wheel /out/opt/gitops /opt/gitops
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
