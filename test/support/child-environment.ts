/**
 * The variables that each process of a test inherits. Others of this machine do not reach it. With the compile cache of
 * `vitest.config.ts`, a process starts in half the CPU time: it neither strips types nor compiles again.
 */
export const childEnvironment: Record<string, string | undefined> = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
}
