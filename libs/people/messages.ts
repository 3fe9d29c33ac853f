import { onOneLine } from '#core/text'
import type { RoleName } from '#fleet/access/scopes'

type MessageText = { subject: string; text: string }

const inRole: Record<RoleName, string> = {
  viewer: 'as a viewer, who sees devices, jobs and the map',
  operator: 'as an operator, who also changes devices and runs jobs',
  admin: 'as an administrator, who may do everything in this organization',
}

type InvitationMail = {
  organizationName: string
  invitedByName: string | null
  role: RoleName
  link: string
  days: number
}

const textOf = (subject: string, lines: readonly string[]): MessageText => ({
  subject: onOneLine(subject),
  text: `${lines.map(onOneLine).join('\n')}\n`,
})

/** Returns the subject and the text of an invitation. */
export const invitationText = ({ organizationName, invitedByName, role, link, days }: InvitationMail): MessageText =>
  textOf(`Invitation to ${organizationName}`, [
    `${invitedByName ?? 'An administrator'} invites you to the fleet of "${organizationName}" ${inRole[role]}.`,
    '',
    'To join, open this page:',
    link,
    '',
    `The link works once and for ${days} days. If you do not expect it, do nothing.`,
  ])

/** Returns the subject and the text of a message with a sign-in link. */
export const signInText = ({ link, minutes }: { link: string; minutes: number }): MessageText =>
  textOf('Your sign-in link', [
    'Open this page to sign in:',
    link,
    '',
    `The link works once and for ${minutes} minutes. If you did not ask for it, do nothing: nobody can sign in without it.`,
  ])
