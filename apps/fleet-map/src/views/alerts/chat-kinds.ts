import type { ChatChannel } from '../../api/schemas.ts'

export const chatKindLabels: Record<ChatChannel['kind'], string> = {
  slack: 'Slack',
  teams: 'Microsoft Teams',
  mattermost: 'Mattermost',
}
