import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

/** Returns a command from the PATH or from the folder where `.ci/run` installs it, or undefined. */
export function findKubernetesTool(name: 'kustomize' | 'kubernetes-validate'): string | undefined {
  const { error } = spawnSync(name, ['--help'], { stdio: 'ignore' })
  if (!error) return name
  const installed = resolve('.cache/kubernetes-tools/bin', name)
  return existsSync(installed) ? installed : undefined
}
