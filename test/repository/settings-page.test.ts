import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { configSchema as controlPlane } from '../../apps/control-plane/config.ts'
import { configSchema as gateway } from '../../apps/gateway/config.ts'
import { configSchema as ingest } from '../../apps/ingest/config.ts'
import { configSchema as start } from '../../apps/stack/config.ts'
import { configSchema as worker } from '../../apps/worker/config.ts'
import { configSchema as writer } from '../../apps/writer/config.ts'

// docs/settings.md is made from the schemas of the apps. After a change of a schema, renew it with
// npx vitest run test/repository/settings-page.test.ts -u

const repository = join(import.meta.dirname, '../..')
const apps: Record<string, z.ZodObject> = {
  'control-plane': controlPlane,
  ingest,
  worker,
  writer,
  gateway,
  '`npm start`': start,
}

type Setting = { name: string; users: Map<string, string>; description: string; isSetByStart: boolean }

const settings = new Map<string, Setting>()
for (const [app, { shape }] of Object.entries(apps)) {
  for (const [name, schema] of Object.entries(shape)) {
    const { users, description, isSetByStart } = settings.get(name) ?? {
      users: new Map<string, string>(),
      description: '',
      isSetByStart: false,
    }
    const { description: own = '', setByStart = false } = z.globalRegistry.get(schema as z.ZodType) ?? {}
    if (!(schema instanceof z.ZodOptional && schema.unwrap() instanceof z.ZodUndefined)) {
      users.set(app, defaultOf(schema as z.ZodType))
    }
    settings.set(name, {
      name,
      users,
      description: description || own,
      isSetByStart: isSetByStart || setByStart === true,
    })
  }
}

/** Returns the default value of a schema as text, '' if it has none. */
function defaultOf(schema: unknown): string {
  if (schema instanceof z.ZodDefault) {
    const value = String(schema.def.defaultValue).replace(`${repository}/`, '')
    return value === '' ? '' : `\`${value}\``
  }
  if (schema instanceof z.ZodPipe) return defaultOf(schema.in)
  if (schema instanceof z.ZodOptional) return defaultOf(schema.unwrap())
  return ''
}

/** Returns the default of a setting, with the apps if they differ. */
function defaults({ users }: Setting): string {
  const ofApps = [...users].filter(([app]) => app !== '`npm start`' || users.size === 1)
  if (new Set(ofApps.map(([, value]) => value)).size < 2) return ofApps[0]?.[1] ?? ''
  return ofApps.map(([app, value]) => `${value} (${app})`).join(', ')
}

const usersOf = ({ users }: Setting): string => {
  const names = [...users.keys()]
  return names.length >= Object.keys(apps).length - 1 && !users.has('`npm start`') ? 'all apps' : names.join(', ')
}

const row = (setting: Setting) =>
  `| \`${setting.name}\`${setting.isSetByStart ? ' ●' : ''} | ${usersOf(setting)} | ${setting.description} | ${defaults(setting)} |`

const sorted = [...settings.values()].sort((one, other) => (one.name < other.name ? -1 : 1))

test('the settings of all apps are here, except for those of the router agent, which are also options', () => {
  const files = globSync('apps/*/config.ts', { cwd: repository, exclude: ['apps/router-agent/**'] })
  expect(files).toHaveLength(Object.keys(apps).length)
})

test('every setting has a description, in one of the schemas', () => {
  expect(sorted.filter(({ description }) => description === '').map(({ name }) => name)).toEqual([])
})

test('docs/settings.md lists the settings of all apps', async () => {
  const page = `# Settings

All settings are environment variables. \`npm start\` passes its environment to the apps and sets the variables marked ●
itself. With \`npm start\`, no variable is required. The [router agent](router-agent.md) lists its own.

| variable | used by | meaning | default |
|---|---|---|---|
${sorted.map(row).join('\n')}
`
  await expect(page).toMatchFileSnapshot(join(repository, 'docs/settings.md'))
})
