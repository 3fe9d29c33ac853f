import { parseArgs } from 'node:util'
import { z } from 'zod'
import { parseConfig } from '#core/config'
import { ensureAccess } from '#fleet/access/bootstrap'
import { migrate } from '#postgres/migrate'
import { openPool } from '#postgres/pool'

/**
 * Prepares the database of an installation that does not use `npm start`: applies migrations. With `--admin-key`, also
 * issues a platform administrator's key and prints it. Safe to repeat; each run with the option issues another key.
 */
const { values } = parseArgs({ options: { 'admin-key': { type: 'boolean', default: false } } })
const { POSTGRES_URL } = parseConfig(z.object({ POSTGRES_URL: z.string().min(1) }), process.env)

const applied = await migrate(POSTGRES_URL, undefined, { onWait: (wait) => console.error(wait) })
console.error(applied.length > 0 ? `Applied ${applied.join(', ')}.` : 'The schema is up to date.')

if (values['admin-key']) {
  const pool = openPool(POSTGRES_URL, { applicationName: 'setup', maxConnections: 1 })
  const { adminKey } = await ensureAccess({ pool }, { demo: false })
  await pool.end()
  console.log(adminKey)
}
