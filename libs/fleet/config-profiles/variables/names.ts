/** What a service knows of each device. Profiles use it like variables; nobody sets it. */
export const builtInVariables = ['device.name', 'device.serial', 'device.model', 'device.tags'] as const

const wholeName = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/
/** Finds `$${`, which stands for `${`, and `${name}` with the name as its group. */
export const placeholders = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_.-]{0,63})\}/g

export const isBuiltIn = (name: string): boolean => (builtInVariables as readonly string[]).includes(name)

/** True for a name that a person can set: letters, digits, `_`, `-` and `.`, without the prefix of the built-in ones. */
export const isVariableName = (name: string): boolean => wholeName.test(name) && !name.startsWith('device.')

/** True for a name that settings can refer to. */
export const isReferable = (name: string): boolean => isVariableName(name) || isBuiltIn(name)

export const nameRule =
  'a letter or _, then at most 63 letters, digits, _, - and points. Names that begin with “device.” are built in.'
