# Octavo as a service: no compiler, no root, nothing written outside /data and /tmp.
#   docker build -t octavo .
#   docker run --read-only --tmpfs /tmp -v octavo:/data -p 127.0.0.1:8321:8321 octavo
FROM python:3.12-slim AS build
WORKDIR /build
RUN python -m venv /opt/octavo
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY src ./src
COPY packages ./packages
RUN /opt/octavo/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt ./packages/octavo-models '.[llm,mcp,postgres,qdrant,service]'

FROM python:3.12-slim
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin octavo \
    && install -d -m 700 -o octavo -g octavo /data
COPY --from=build /opt/octavo /opt/octavo
ENV PATH=/opt/octavo/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OCTAVO_DATA=/data
USER octavo
WORKDIR /data
VOLUME /data
EXPOSE 8321
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8321/healthz', timeout=4)"]
ENTRYPOINT ["octavo"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8321"]
