-- The Postgres image runs this script once as superuser when the volume is empty. The services connect as `routerfleet`,
-- which only owns its database. A superuser would bypass row-level security and could run programs.
\set ON_ERROR_STOP on
\getenv password ROUTERFLEET_PASSWORD
CREATE ROLE routerfleet LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
-- Queries within an organization run as this role. A migration creates it if the services have the permission.
CREATE ROLE routerfleet_tenant NOLOGIN NOINHERIT;
GRANT routerfleet_tenant TO routerfleet;
CREATE DATABASE routerfleet OWNER routerfleet;
