import { parseConfig } from '#core/config'
import { rewrapDataKeys } from '#fleet/crypto/data-keys'
import { createKeyring } from '#fleet/crypto/keyring'
import { openPool } from '#postgres/pool'
import { rotationSchema } from './config.ts'

// An operator's command, run after CONFIG_SECRETS_KEY was replaced everywhere and its predecessor set as
// CONFIG_SECRETS_KEY_PREVIOUS; docs/config-profiles.md has the steps.
const config = parseConfig(rotationSchema, process.env)
const pool = openPool(config.POSTGRES_URL, { applicationName: 'rotate-secrets-key', maxConnections: 1 })
try {
  const count = await rewrapDataKeys(pool, createKeyring(config.CONFIG_SECRETS_KEY, config.CONFIG_SECRETS_KEY_PREVIOUS))
  process.stdout.write(`Wrapped ${count} data keys anew. CONFIG_SECRETS_KEY_PREVIOUS is no longer needed.\n`)
} finally {
  await pool.end()
}
