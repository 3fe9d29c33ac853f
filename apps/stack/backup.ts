import { readDeployment, readRunningInstallation } from './backup/installation.ts'
import { runCommand } from './backup/run-command.ts'
import { takeBackup } from './backup/take-backup.ts'

// npm run backup -- FOLDER: writes a backup of the running installation.
await runCommand('backup', process.argv.slice(2), async ({ folder, data, isDeployment, say, signal }) => {
  const installation = isDeployment ? readDeployment(process.env) : await readRunningInstallation(data, process.env)
  const { startedAt, files } = await takeBackup(installation, folder, { say, signal })
  const mebibytes = files.reduce((sum, { bytes }) => sum + bytes, 0) / 1024 ** 2
  say(
    `${folder} has everything that was accepted before ${startedAt}: ${files.length} files, ${mebibytes.toFixed(1)} MiB.`,
  )
  if (installation.logFolder === undefined)
    say(
      `Reports that QuestDB had not stored are only in Kafka: after a restore, reset the consumer group to ${startedAt}.`,
    )
})
