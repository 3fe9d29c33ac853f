import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

const version = '9.3.4'
const artifact = `org.questdb:questdb:${version}`
const sha256 = '939bc53ab22f93dbaa6545143a6e7c536d4904c07b7f2d381e8eef10436be062'
const oldestJava = 17

const orExternal = 'or set QUESTDB_URL and QUESTDB_PG_URL to a QuestDB of your own'

/** Returns the `java` of `javaHome` or of the PATH. Throws if there is none or it is older than 17. */
export async function findJava(javaHome?: string): Promise<string> {
  const candidates = [...(javaHome ? [join(javaHome, 'bin', 'java')] : []), 'java']
  let oldest: string | undefined
  for (const java of candidates) {
    const found = await javaVersion(java)
    if (found !== undefined && found >= oldestJava) return java
    if (found !== undefined) oldest = `Java ${found}`
  }
  const problem = oldest ? `QuestDB needs Java ${oldestJava} or newer and found ${oldest}` : 'QuestDB needs Java'
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

/**
 * Returns the path of the QuestDB jar in `cacheDir`. Downloads it with Maven on first use and verifies its checksum at
 * every start. Throws if Maven is missing, the download fails or the checksum differs.
 */
export async function questdbJar(cacheDir: string, onDownload?: (artifact: string) => void): Promise<string> {
  const jar = join(resolve(cacheDir), `questdb-${version}.jar`)
  if (await isGenuine(jar)) return jar
  onDownload?.(artifact)
  const downloadDir = join(resolve(cacheDir), `download-${randomUUID()}`)
  await mkdir(downloadDir, { recursive: true })
  try {
    await download(downloadDir)
    const downloaded = join(downloadDir, `questdb-${version}.jar`)
    if (!(await isGenuine(downloaded))) {
      throw new Error(
        `The downloaded QuestDB ${version} is not the published file: clear it from ~/.m2 and start again.`,
      )
    }
    await rename(downloaded, jar)
    return jar
  } finally {
    await rm(downloadDir, { recursive: true, force: true })
  }
}

async function download(outputDirectory: string): Promise<void> {
  try {
    await run(
      'mvn',
      ['-B', '-q', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${outputDirectory}`],
      {
        cwd: outputDirectory,
        timeout: 600_000,
      },
    )
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new Error(`QuestDB is fetched with Maven: install Maven (the command mvn), ${orExternal}.`)
    }
    throw new Error(`Maven could not fetch ${artifact}: check the network, ${orExternal}.`, { cause: error })
  }
}

async function isGenuine(path: string): Promise<boolean> {
  const bytes = await readFile(path).catch(() => undefined)
  return bytes !== undefined && createHash('sha256').update(bytes).digest('hex') === sha256
}
