import { linkTo } from '../../state/url.ts'
import css from './sign-in.module.css'

/** Where a sign-in in a tab of its own ends: the tab whose session ended continues by itself. */
export const SignedIn = () => (
  <main class={css.signIn}>
    <div class={`card ${css.signInCard}`}>
      <img src="./favicon.svg" alt="" width="40" height="40" />
      <div>
        <h1>You are signed in</h1>
        <p class={css.signInLead}>Close this tab and continue in the one where you were.</p>
      </div>
      <a class="button" href={linkTo('map')}>
        Open the map here
      </a>
    </div>
  </main>
)
