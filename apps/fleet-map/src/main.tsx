import { render } from 'preact'
import { accessWasRefused, isSignedIn, sessionCaller } from './api/client.ts'
import { keepFocus } from './components/keep-focus.ts'
import { lazyView } from './components/lazy-view.tsx'
import { loadSession } from './state/sign-in.ts'
import { place } from './state/url.ts'
import './state/theme.ts'
import './state/title.ts'
import '@fontsource-variable/inter/index.css'
import './styles/tokens.css'
import './styles/base.css'
import './styles/components.css'
import './styles/controls.css'
import './styles/forms.css'
import './styles/layout.css'
import './styles/panels.css'
import './styles/maplibre.css'
import './styles/charts.css'
import './styles/touch.css'
import { Shell } from './views/shell/shell.tsx'
import { SignIn, SignInAgain } from './views/sign-in/sign-in.tsx'

const loadMap = async () => (await import('./views/map/map.tsx')).MapView
const MapView = lazyView(loadMap)

const views: Record<string, (props: object) => preact.JSX.Element> = {
  map: MapView,
  overview: lazyView(async () => (await import('./views/overview/overview.tsx')).OverviewView),
  devices: lazyView(async () => (await import('./views/devices/devices.tsx')).DevicesView),
  groups: lazyView(async () => (await import('./views/groups/groups.tsx')).GroupsView),
  profiles: lazyView(async () => (await import('./views/profiles/profiles.tsx')).ProfilesView),
  jobs: lazyView(async () => (await import('./views/jobs/jobs.tsx')).JobsView),
  device: lazyView(async () => (await import('./views/device/device-page.tsx')).DevicePage),
  alerts: lazyView(async () => (await import('./views/alerts/alerts.tsx')).AlertsView),
  settings: lazyView(async () => (await import('./views/settings/settings.tsx')).SettingsView),
  help: lazyView(async () => (await import('./views/help/help.tsx')).HelpView),
  connect: lazyView(async () => (await import('./views/connect/connect.tsx')).ConnectView),
}

const Invitation = lazyView(async () => (await import('./views/sign-in/invitation.tsx')).InvitationView)
const SignedIn = lazyView(async () => (await import('./views/sign-in/signed-in.tsx')).SignedIn)
const AlertMail = lazyView(async () => (await import('./views/sign-in/alert-mail.tsx')).AlertMailView)

function App() {
  // Whoever receives a message about alerts needs no access to the service.
  if (place.value.view === 'alert-mail') return <AlertMail />
  if (place.value.view === 'invitation') return <Invitation />
  if (place.value.view === 'sign-in') return <SignIn />
  // Until the service has answered, the page cannot know whether somebody is signed in.
  const isRefused = accessWasRefused.value
  if (!isSignedIn.value && !isRefused) return sessionCaller.value === undefined ? null : <SignIn />
  if (place.value.view === 'signed-in' && !isRefused) return <SignedIn />
  const View = views[place.value.view] ?? MapView
  // The page keeps what was typed in it while its reader signs in again. It is hidden with its dialogs.
  return (
    <>
      <div class="covered" data-covered={isRefused}>
        <Shell>
          <View />
        </Shell>
      </div>
      {isRefused ? <SignInAgain /> : null}
    </>
  )
}

if (!isSignedIn.value) void loadSession()
// The map is large. It loads while the service answers who is signed in; a failure appears in its view.
if (place.value.view === 'map') void loadMap().catch(() => {})

const container = document.getElementById('app')
if (container) {
  render(<App />, container)
  keepFocus(container)
}
