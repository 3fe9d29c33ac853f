import type { Action } from './action.ts'
import { applyConfig } from './apply-config.ts'
import { collectDiagnostics } from './collect-diagnostics.ts'
import { updateFirmware } from './firmware-update.ts'
import { measureSpeed } from './speed-test.ts'

const reboot: Action = async () => ({ status: 'succeeded', detail: 'Restarted.', restart: { reason: 'job' } })

/** The job kinds that this router supports. Any other kind is rejected. */
export const actions: Record<string, Action> = {
  reboot,
  apply_config: applyConfig,
  firmware_update: updateFirmware,
  collect_diagnostics: collectDiagnostics,
  speed_test: measureSpeed,
}
