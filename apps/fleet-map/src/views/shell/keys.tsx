import { Dialog } from '../../components/dialog.tsx'
import css from './shell.module.css'

const keys: [key: string, meaning: string][] = [
  ['Ctrl + K or /', 'Search devices, groups, places, profiles, jobs, settings and actions'],
  ['?', 'Show these keys'],
  ['Tab', 'Go to the next control; the first one skips to the content'],
  ['Escape', 'Close a dialog, a menu or a panel of the map'],
  ['+ − and arrows', 'Zoom and move the map while it has the focus'],
]

/** Lists the keys of the page. */
export const Keys = ({ onClose }: { onClose: () => void }) => (
  <Dialog title="Keys" closeLabel="Close" isDone onClose={onClose}>
    <dl class={css.keys}>
      {keys.map(([key, meaning]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  </Dialog>
)
