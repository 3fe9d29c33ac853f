import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readAccessFile } from './access.ts'
import { dataFolder } from './data-folder.ts'
import { createSignInLink } from './sign-in-link.ts'

const usage = 'Usage: npm run sign-in [-- --data-dir .data --demo --base-url URL]'

/** Prints a link for the platform administrator, or with `--demo` for the operator of the demo organization. */
async function run(args: string[]): Promise<void> {
  const { values } = parse(args)
  const access = await readAccessFile(dataFolder(resolve(values['data-dir'])).accessFile)
  const key = values.demo ? access.demoKey : access.adminKey
  if (key === null) throw new Error('This installation has no demo organization.')
  const { url } = await createSignInLink(values['base-url'] ?? access.baseUrl, key).catch((error: unknown) => {
    const isDown = error instanceof TypeError
    throw isDown ? new Error(`Cannot reach ${access.baseUrl}. Is npm start running?`) : error
  })
  console.log(`${url}\nThe link works once and for ten minutes. Whoever has it can sign in.`)
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        'data-dir': { type: 'string', default: '.data' },
        'base-url': { type: 'string' },
        demo: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}. ${usage}`)
  }
}

try {
  await run(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
