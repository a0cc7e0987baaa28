# Two images of one source. Nothing is fetched but the base image and the packages of the lock file, by hash.
#   docker build --target remediator -t remediator .
#   docker build --target exporter -t remediator-exporter .
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
COPY requirements/remediator.txt requirements/
COPY scripts/install-into scripts/
COPY pyproject.toml README.md ./
COPY rules rules
COPY remediator remediator
RUN scripts/install-into /opt/remediator

FROM ${PYTHON_IMAGE} AS base
ARG REVISION=unknown
ARG VERSION=0.1.0
LABEL org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that Kubernetes can tell that it is not root.
USER 10001:10001

# The exporter needs nothing but Python: no client library, no Kubernetes.
FROM base AS exporter
LABEL org.opencontainers.image.title="remediator-exporter" \
      org.opencontainers.image.description="Memory of a node and its pods, from cgroups and /proc"
COPY remediator/__init__.py /opt/exporter/remediator/
COPY remediator/exporter /opt/exporter/remediator/exporter
ENV PYTHONPATH=/opt/exporter
EXPOSE 9101
HEALTHCHECK --interval=30s --timeout=3s CMD ["python", "-c", "import socket; socket.create_connection(('127.0.0.1', 9101), 2)"]
ENTRYPOINT ["python", "-m", "remediator.exporter.main"]
CMD ["--listen=0.0.0.0:9101"]

FROM base AS remediator
LABEL org.opencontainers.image.title="remediator" \
      org.opencontainers.image.description="Sees memory pressure coming on Kubernetes nodes and moves the least important pods off in time"
COPY --from=build /opt/remediator /opt/remediator
ENV PATH=/opt/remediator/bin:${PATH}
WORKDIR /tmp
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=3s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["remediator"]
CMD ["serve"]
