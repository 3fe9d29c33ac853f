/** The reason why tests of Linux alone are skipped; null on Linux. */
export const notLinux: string | null = process.platform === 'linux' ? null : 'Only Linux has this.'
