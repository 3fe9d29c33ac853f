import { masterSecret } from './ingest-process.ts'
import { type ProductProcess, startProductProcess } from './product-process.ts'
import { questdbConnection } from './questdb.ts'

/** Runs a cluster without a demo on a database of a test and on the QuestDB of all tests. */
export function startTestCluster(databaseUrl: string): Promise<ProductProcess> {
  const { httpUrl, pgUrl, user, password } = questdbConnection()
  return startProductProcess(['--cluster', '--no-demo'], {
    POSTGRES_URL: databaseUrl,
    QUESTDB_URL: httpUrl,
    QUESTDB_PG_URL: pgUrl,
    QUESTDB_USER: user,
    QUESTDB_PASSWORD: password,
    CONFIG_SECRETS_KEY: masterSecret,
    LOG_LEVEL: 'debug',
  })
}
