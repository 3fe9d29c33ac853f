import { allDevices, deviceJobsChannel } from '#fleet/jobs/notices'
import type { ChannelListener } from '#postgres/listen'
import type { Mailbox } from './mailbox.ts'

/** Wakes waiting devices when the database reports new jobs for them; after a gap in the notices, all of them. */
export const followJobNotices = (mailbox: Mailbox): ChannelListener => ({
  channel: deviceJobsChannel,
  onNotice: (payload) => mailbox.wake(payload === allDevices ? undefined : payload.split(',')),
  onGap: () => mailbox.wake(),
})
