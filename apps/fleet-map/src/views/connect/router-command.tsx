import { useState } from 'preact/hooks'
import { CopyText } from '../../components/copy-text.tsx'
import type { NewRouter } from './new-router.ts'

const ways = {
  agent: {
    label: 'Router agent',
    about: 'In a copy of the Routerfleet repository. The agent reports every ten seconds.',
  },
  curl: { label: 'curl', about: 'In any shell with curl. It sends one report, as the firmware of a router would.' },
}

/** The command that enrolls the router and sends its first report. */
export function RouterCommand({ router }: { router: NewRouter }) {
  const [way, setWay] = useState<keyof typeof ways>('agent')
  const baseUrl = new URL('.', document.baseURI).href.replace(/\/$/, '')
  const command = way === 'agent' ? agentCommand(baseUrl, router) : curlCommand(baseUrl, router)
  return (
    <>
      <fieldset class="plain segmented">
        <legend class="visually-hidden">Way to report</legend>
        {Object.entries(ways).map(([name, { label }]) => (
          <button
            key={name}
            type="button"
            aria-pressed={way === name}
            onClick={() => setWay(name as keyof typeof ways)}
          >
            {label}
          </button>
        ))}
      </fieldset>
      <p class="hint">{ways[way].about}</p>
      <CopyText key={way} label="Command" text={command} multiline />
      <p class="hint">
        The enrollment key is shown only now. Other makers’ routers can report too; see the adapters in the
        documentation.
      </p>
    </>
  )
}

const agentCommand = (baseUrl: string, { serial, model, enrollmentKey }: NewRouter): string =>
  `export ENROLLMENT_KEY=${enrollmentKey}
npm run agent -- --base-url ${baseUrl} --serial ${serial} --model ${model}`

const curlCommand = (baseUrl: string, { serial, model, enrollmentKey }: NewRouter): string =>
  `token=$(curl -sS ${baseUrl}/device/enroll -H 'Content-Type: application/json' \\
  -d '{"enrollmentKey": "${enrollmentKey}", "serial": "${serial}", "model": "${model}"}' |
  sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
curl -sS ${baseUrl}/telemetry -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \\
  -d "{\\"samples\\": [{\\"kind\\": \\"location\\", \\"ts\\": $(date +%s)000, \\"lat\\": 53.54, \\"lon\\": 9.99, \\"fix\\": \\"3d\\"}]}"`
