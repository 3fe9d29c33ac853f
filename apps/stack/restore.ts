import { readTargets, restoreDataFolder, restoreDeployment } from './backup/restore-backup.ts'
import { runCommand } from './backup/run-command.ts'

// npm run restore -- FOLDER: restores a backup into an empty installation.
await runCommand('restore', process.argv.slice(2), async ({ folder, data, isDeployment, say, signal }) => {
  if (isDeployment) await restoreDeployment(folder, readTargets(process.env), { say, signal })
  else await restoreDataFolder(folder, data, readTargets(process.env), { say, signal })
  say(isDeployment ? 'Restored. Start the services.' : `Restored to ${data.dir}. Start with npm start.`)
})
