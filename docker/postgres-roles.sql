-- The Postgres image runs this once, as its superuser, when the volume is empty. The services connect as `routerfleet`,
-- which owns its database and no more: a superuser would see through row-level security and could run programs.
\set ON_ERROR_STOP on
\getenv password ROUTERFLEET_PASSWORD
CREATE ROLE routerfleet LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
-- Work inside an organization runs as this role. The first migrations make it where they may.
CREATE ROLE routerfleet_tenant NOLOGIN NOINHERIT;
GRANT routerfleet_tenant TO routerfleet;
CREATE DATABASE routerfleet OWNER routerfleet;
