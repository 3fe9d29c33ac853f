import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type JavaProgram, runMaven } from './java.ts'

const version = '4.4.0'
const artifact = `org.apache.kafka:kafka_2.13:${version}`
/** Of the names and checksums of all jars. See `digestOf`. */
const sha256 = '55d4b5065100918d1863d17acf86f6154916567f75ba06cd8ccbf948467d8fe2'

export const kafkaProgram: JavaProgram = {
  name: 'Kafka',
  orExternal: 'or set KAFKA_BROKERS to brokers of your own',
}

/**
 * The broker and its libraries. `kafka-tools-api` is not on Maven Central and the broker does not need it. Kafka logs through
 * slf4j 1, for which log4j needs an adapter.
 */
const project = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>routerfleet</groupId>
  <artifactId>kafka-broker</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>${version}</version>
      <exclusions>
        <exclusion>
          <groupId>org.apache.kafka</groupId>
          <artifactId>kafka-tools-api</artifactId>
        </exclusion>
      </exclusions>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>2.25.5</version>
    </dependency>
  </dependencies>
</project>
`

/**
 * Returns the folder of the broker's jars in `cacheDir`. Downloads them with Maven on first use and verifies their checksums
 * at every start. Throws if Maven is missing, the download fails or a checksum differs.
 */
export async function kafkaJars(cacheDir: string, onDownload?: (artifact: string) => void): Promise<string> {
  const folder = join(resolve(cacheDir), `kafka-${version}`)
  if (await isGenuine(folder)) return folder
  onDownload?.(artifact)
  const downloadDir = join(resolve(cacheDir), `download-${randomUUID()}`)
  const jars = join(downloadDir, 'jars')
  await mkdir(downloadDir, { recursive: true })
  try {
    await writeFile(join(downloadDir, 'pom.xml'), project)
    const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${jars}`]
    await runMaven(kafkaProgram, artifact, goal, downloadDir)
    if (!(await isGenuine(jars))) {
      throw new Error(
        `The downloaded jars of Kafka ${version} differ from the published ones: clear ~/.m2 and start again.`,
      )
    }
    await rm(folder, { recursive: true, force: true })
    await rename(jars, folder).catch(async (error: unknown) => {
      // Another start has put the same jars there meanwhile.
      if (!(await isGenuine(folder))) throw error
    })
    return folder
  } finally {
    await rm(downloadDir, { recursive: true, force: true })
  }
}

const isGenuine = async (folder: string) => (await digestOf(folder)) === sha256

/** Returns the checksum of the list of all files with their checksums, or undefined if there is no such folder. */
async function digestOf(folder: string): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => undefined)
  if (names === undefined) return undefined
  const list = createHash('sha256')
  for (const name of names.sort()) {
    const bytes = await readFile(join(folder, name))
    list.update(`${name} ${createHash('sha256').update(bytes).digest('hex')}\n`)
  }
  return list.digest('hex')
}
