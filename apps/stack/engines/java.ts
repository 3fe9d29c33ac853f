import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

const oldestJava = 17

/** A program that runs on Java. `orExternal` says how to use an external server instead, for error messages. */
export type JavaProgram = { name: string; orExternal: string }

/** Returns the `java` of `javaHome` or of the PATH. Throws if there is none or it is older than 17. */
export async function findJava({ name, orExternal }: JavaProgram, javaHome?: string): Promise<string> {
  const candidates = [...(javaHome ? [join(javaHome, 'bin', 'java')] : []), 'java']
  let oldest: string | undefined
  for (const java of candidates) {
    const found = await javaVersion(java)
    if (found !== undefined && found >= oldestJava) return java
    if (found !== undefined) oldest = `Java ${found}`
  }
  const problem = oldest ? `${name} needs Java ${oldestJava} or newer and found ${oldest}` : `${name} needs Java`
  throw new Error(
    `${problem}: install Java ${oldestJava}+ (for example openjdk-17-jre-headless), set JAVA_HOME, ${orExternal}.`,
  )
}

async function javaVersion(java: string): Promise<number | undefined> {
  try {
    const { stderr } = await run(java, ['-version'])
    const major = /version "(?:1\.)?(\d+)/.exec(stderr)?.[1]
    return major === undefined ? undefined : Number(major)
  } catch {
    return undefined
  }
}

/** Runs Maven in `folder` to fetch `artifact`. Throws if Maven is missing or fails. */
export async function runMaven(
  { name, orExternal }: JavaProgram,
  artifact: string,
  args: readonly string[],
  folder: string,
): Promise<void> {
  try {
    await run('mvn', ['-B', '-q', ...args], { cwd: folder, timeout: 600_000 })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new Error(`${name} is fetched with Maven: install Maven (the command mvn), ${orExternal}.`)
    }
    throw new Error(`Maven could not fetch ${artifact}: check the network, ${orExternal}.`, { cause: error })
  }
}
