import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { readOptions } from './config.ts'
import { findJava } from './engines/java.ts'
import { questdbJar, questdbProgram } from './engines/questdb-program.ts'
import { claimPort, localBaseUrl } from './network.ts'

test('options have the documented defaults', () => {
  const options = readOptions([], {})
  expect(options).toMatchObject({ port: 8080, host: '127.0.0.1', demo: true, fresh: false, cluster: false })
  expect(options.dataDir).toMatch(/\/\.data$/)
  const chosen = readOptions(['--no-demo', '--fresh', '--cluster', '--port', '0'], {})
  expect(chosen).toMatchObject({ port: 0, demo: false, fresh: true, cluster: true })
})

test('an invalid option fails with one sentence and the usage', () => {
  expect(() => readOptions(['--port', 'http'], {})).toThrow(/^--port must be .* Usage: npm start/)
  expect(() => readOptions(['--frsh'], {})).toThrow(/frsh.*Usage: npm start/)
})

test('only one address of an external QuestDB fails with both variable names', () => {
  expect(() => readOptions([], { QUESTDB_URL: 'http://db:9000' })).toThrow(
    'Set QUESTDB_URL and QUESTDB_PG_URL together',
  )
})

test('several copies of QuestDB fail with what to do', () => {
  expect(() => readOptions([], { QUESTDB_SERVERS: 'a=http://db:9000,postgresql://db:8812/qdb' })).toThrow(
    'QUESTDB_SERVERS: start the apps one by one',
  )
})

test('a port in use fails with one sentence that says what to do', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  await expect(claimPort(port, '127.0.0.1')).rejects.toThrow(
    `Port ${port} is in use by another program. Stop that program, or choose another port with npm start -- --port N.`,
  )
  server.close()
})

test('the printed address can be opened', () => {
  expect(localBaseUrl(8080, '0.0.0.0')).toBe('http://127.0.0.1:8080')
  expect(localBaseUrl(8080, '::1')).toBe('http://[::1]:8080')
})

test('without Java or Maven, the error is one sentence that says what to install or which variable to set', async () => {
  const path = process.env.PATH
  process.env.PATH = '/nowhere'
  try {
    await expect(findJava(questdbProgram)).rejects.toThrow(
      /^QuestDB needs Java: install Java 17\+ .* JAVA_HOME.* QUESTDB_URL/,
    )
    await expect(questdbJar('/tmp/routerfleet-no-jar-here')).rejects.toThrow(/install Maven .* QUESTDB_URL/)
  } finally {
    process.env.PATH = path
  }
})
