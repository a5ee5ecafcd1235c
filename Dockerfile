# Cleared in a container, see "Run it in a container" in README.md. test/cli/container.slow.test.ts carries out what stands here without Docker.
FROM node:26-bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends git bubblewrap util-linux && rm -rf /var/lib/apt/lists/*
COPY . /app
RUN node /app/bin/cleared.js --version && ln -s /app/bin/cleared.js /usr/local/bin/cleared
RUN useradd --create-home --uid 10001 cleared && mkdir -p /data/workspace /data/state && chown -R cleared /data && chmod 700 /data/state
USER cleared
ENV XDG_STATE_HOME=/data/state
WORKDIR /data/workspace
VOLUME /data
EXPOSE 9010
ENTRYPOINT ["/app/bin/container.sh"]
