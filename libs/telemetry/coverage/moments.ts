/**
 * What votes count beyond their moments, if several modems of a device voted in one cell and minute: a moment counts once, and is
 * without service only when no modem had service in it.
 */
export type Moments = { moreVotes: number; moreDark: number }

export const noMoments: Moments = { moreVotes: 0, moreDark: 0 }

export const addMoments = (a: Moments, b: Moments): Moments => ({
  moreVotes: a.moreVotes + b.moreVotes,
  moreDark: a.moreDark + b.moreDark,
})

/** How many moments votes are, and how many of those are without service. */
export const countMoments = (
  { samples, inService }: { samples: number; inService: number },
  { moreVotes, moreDark }: Moments,
): { moments: number; dark: number } => ({ moments: samples - moreVotes, dark: samples - inService - moreDark })
