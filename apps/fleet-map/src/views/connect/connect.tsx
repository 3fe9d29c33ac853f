import { useState } from 'preact/hooks'
import { post } from '../../api/client.ts'
import { CheckedForm, useChecked } from '../../components/checked-form.tsx'
import { caller, holds, homeOrganizationId } from '../../state/session.ts'
import { WithoutOrganization } from '../shell/shell.tsx'
import css from './connect.module.css'
import type { NewRouter } from './new-router.ts'
import { RouterCommand } from './router-command.tsx'
import { WaitForReport } from './wait-for-report.tsx'

const keyLifetimeMs = 86_400_000

/** Leads from an enrollment key to the first report of a router. */
export function ConnectView() {
  const org = homeOrganizationId.value
  return (
    <div class="page">
      <div class={`page-inner ${css.connect}`}>
        <div class="section-title">
          <h1>Connect a router</h1>
          <p class="hint">Three steps to its first report. A computer can stand in for a router.</p>
        </div>
        {org ? <Steps key={org} org={org} /> : <WithoutOrganization />}
      </div>
    </div>
  )
}

function Steps({ org }: { org: string }) {
  const [router, setRouter] = useState<NewRouter>()
  if (caller.value && !holds(org, 'org:write'))
    return (
      <div class="state">
        <strong>Permission denied</strong>
        <p>
          Enrollment keys need the scope <code>org:write</code>. Ask an administrator of the organization for a key.
        </p>
      </div>
    )
  return (
    <ol class={css.steps}>
      <li class={`card ${css.step}`} data-done={router !== undefined}>
        <h2>1. Create an enrollment key</h2>
        {router ? (
          <p>
            The key is for the router <strong>{router.serial}</strong> and works once, for one day.
          </p>
        ) : (
          <KeyForm org={org} onCreated={setRouter} />
        )}
      </li>
      <li class={`card ${css.step}`} aria-disabled={!router}>
        <h2>2. Run a command on the router</h2>
        {router ? <RouterCommand router={router} /> : <p class="hint">The command appears here.</p>}
      </li>
      <li class={`card ${css.step}`} aria-disabled={!router}>
        <h2>3. Wait for the first report</h2>
        {router ? <WaitForReport org={org} serial={router.serial} /> : <p class="hint">It takes a few seconds.</p>}
      </li>
    </ol>
  )
}

/** A serial that no other router of the organization is likely to have. */
const newSerial = () => `router-${crypto.getRandomValues(new Uint16Array(1))[0]?.toString(16).padStart(4, '0')}`

function KeyForm({ org, onCreated }: { org: string; onCreated: (router: NewRouter) => void }) {
  const [serial] = useState(newSerial)
  const checked = useChecked(async (form) => {
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const [chosen, model] = [text('serial'), text('model')]
    const body = {
      name: `Connect ${chosen}`,
      autoCreate: true,
      models: [model],
      maxDevices: 1,
      expiresAt: new Date(Date.now() + keyLifetimeMs).toISOString(),
    }
    const { key } = await post(`/orgs/${org}/enrollment-keys`, { body })
    onCreated({ serial: chosen, model, enrollmentKey: key })
  })
  return (
    <CheckedForm checked={checked} class={css.stepForm}>
      <label class="field">
        <span>Serial number</span>
        {/* Without quotes and spaces, the serial needs no escapes in the command. */}
        <input
          class="input"
          name="serial"
          required
          minLength={2}
          maxLength={64}
          pattern="[A-Za-z0-9._\-]+"
          title="Use letters, digits, dots, hyphens and underscores only."
          defaultValue={serial}
        />
      </label>
      <label class="field">
        <span>Model</span>
        <input
          class="input"
          name="model"
          data-member="models"
          required
          maxLength={100}
          pattern="[A-Za-z0-9._\-]+"
          title="Use letters, digits, dots, hyphens and underscores only."
          defaultValue="router"
        />
      </label>
      <button type="submit" class="button primary" disabled={checked.busy}>
        Create key
      </button>
      {checked.refusal}
    </CheckedForm>
  )
}
