import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type JavaProgram, runMaven } from './java.ts'

/** The version of the embedded QuestDB. */
export const questdbVersion = '9.3.4'
const artifact = `org.questdb:questdb:${questdbVersion}`
const sha256 = '939bc53ab22f93dbaa6545143a6e7c536d4904c07b7f2d381e8eef10436be062'

export const questdbProgram: JavaProgram = {
  name: 'QuestDB',
  orExternal: 'or set QUESTDB_URL and QUESTDB_PG_URL to a QuestDB of your own',
}

/**
 * Returns the path of the QuestDB jar in `cacheDir`. Downloads it with Maven on first use and verifies its checksum at
 * every start. Throws if Maven is missing, the download fails or the checksum differs.
 */
export async function questdbJar(cacheDir: string, onDownload?: (artifact: string) => void): Promise<string> {
  const jar = join(resolve(cacheDir), `questdb-${questdbVersion}.jar`)
  if (await isGenuine(jar)) return jar
  onDownload?.(artifact)
  const downloadDir = join(resolve(cacheDir), `download-${randomUUID()}`)
  await mkdir(downloadDir, { recursive: true })
  try {
    const goal = ['dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${downloadDir}`]
    await runMaven(questdbProgram, artifact, goal, downloadDir)
    const downloaded = join(downloadDir, `questdb-${questdbVersion}.jar`)
    if (!(await isGenuine(downloaded))) {
      throw new Error(
        `The downloaded QuestDB ${questdbVersion} is not the published file: clear it from ~/.m2 and start again.`,
      )
    }
    await rename(downloaded, jar)
    return jar
  } finally {
    await rm(downloadDir, { recursive: true, force: true })
  }
}

async function isGenuine(path: string): Promise<boolean> {
  const bytes = await readFile(path).catch(() => undefined)
  return bytes !== undefined && createHash('sha256').update(bytes).digest('hex') === sha256
}
