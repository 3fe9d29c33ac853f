import { useState } from 'preact/hooks'
import { ApiError, patch, post } from '../../api/client.ts'
import { Conflict } from '../../components/conflict.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ifMatch, useEntity } from '../../components/entity.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { RuleFields } from './rule-fields.tsx'
import { newRule, type RuleBody, type RuleTargets, readRuleForm } from './rule-form.ts'

type RuleDialogProps = {
  org: string
  /** The rule to edit; undefined creates one. */
  id: string | undefined
  targets: RuleTargets
  onClose: () => void
  onSaved: () => void
}

/** Creates or edits a rule. */
export function RuleDialog({ org, id, ...rest }: RuleDialogProps) {
  return id === undefined ? (
    <RuleForm {...rest} title="New rule" rule={newRule} save={(body) => post(`/orgs/${org}/alert-rules`, { body })} />
  ) : (
    <EditDialog org={org} id={id} {...rest} />
  )
}

function EditDialog({ org, id, ...rest }: RuleDialogProps) {
  const path = `/orgs/${org}/alert-rules/${id}` as const
  const found = useEntity(path)
  if (!found.value)
    return (
      <Dialog title="Rule" closeLabel="Close" onClose={rest.onClose}>
        {found.error ? <Failure error={found.error} retry={found.reload} /> : <Loading rows={4} />}
      </Dialog>
    )
  const { tag, value: rule } = found.value
  return (
    <RuleForm
      key={tag}
      {...rest}
      title={`Edit ${rule.name}`}
      rule={rule}
      save={(body) => patch(path, { headers: ifMatch(tag), body })}
      reload={found.reload}
    />
  )
}

type RuleFormProps = Pick<RuleDialogProps, 'targets' | 'onClose' | 'onSaved'> & {
  title: string
  rule: RuleBody
  save: (body: RuleBody) => Promise<unknown>
  reload?: () => void
}

function RuleForm({ title, rule, targets, onClose, onSaved, save, reload }: RuleFormProps) {
  const [conflict, setConflict] = useState(false)
  return (
    <Dialog
      title={title}
      submitLabel="Save"
      onClose={onClose}
      onSubmit={async (form) => {
        setConflict(false)
        try {
          await save(readRuleForm(form))
          onSaved()
        } catch (error) {
          if (!(error instanceof ApiError && error.status === 412 && reload)) throw error
          setConflict(true)
        }
      }}
    >
      <RuleFields rule={rule} targets={targets} />
      {conflict && reload ? <Conflict what="rule" onReload={reload} /> : null}
    </Dialog>
  )
}
