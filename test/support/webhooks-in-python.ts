import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where `.ci/run` installs `standardwebhooks`. */
const installed = join(import.meta.dirname, '../../.cache/client-generators/bin')

/** Returns the path of Python, rather the one for which `.ci/run` installs packages, or undefined. */
export function findPython(): string | undefined {
  const folders = [installed, ...(process.env.PATH ?? '').split(delimiter)]
  return folders.map((folder) => join(folder, 'python3')).find((path) => existsSync(path))
}

const program = `
import json, sys
try:
    from standardwebhooks import Webhook
except ImportError:
    sys.exit(3)

given = json.load(sys.stdin)

def verify(secret):
    try:
        return Webhook(secret).verify(given["body"].encode(), given["headers"])["type"]
    except Exception as error:
        return type(error).__name__

print(json.dumps([verify(secret) for secret in given["secrets"]]))
`

type Received = { body: string; headers: Record<string, string | string[] | undefined>; secrets: readonly string[] }

/**
 * Verifies a request with each secret, using `standardwebhooks` of PyPI. Returns the type of the event, or the name of the error.
 * Undefined if the package is not installed.
 */
export const verifyInPython = (python: string, received: Received): Promise<string[] | undefined> =>
  new Promise((resolve, reject) => {
    const child = execFile(python, ['-c', program], (error, stdout) => {
      if (error?.code === 3) return resolve(undefined)
      if (error) return reject(error)
      resolve(JSON.parse(stdout))
    })
    child.stdin?.end(JSON.stringify(received))
  })
