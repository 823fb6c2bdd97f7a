// Services that kind `http` reaches without a template of the owner's. A preset is data: to add one, write
// a file in `presets/`, a line here, and a row in `test/notify/presets.ts`.
import alertmanager from './presets/alertmanager.json' with { type: 'json' }
import apprise from './presets/apprise.json' with { type: 'json' }
import discord from './presets/discord.json' with { type: 'json' }
import googleChat from './presets/google-chat.json' with { type: 'json' }
import grafana from './presets/grafana.json' with { type: 'json' }
import incidentIo from './presets/incident-io.json' with { type: 'json' }
import jsm from './presets/jsm.json' with { type: 'json' }
import mattermost from './presets/mattermost.json' with { type: 'json' }
import ntfy from './presets/ntfy.json' with { type: 'json' }
import pushover from './presets/pushover.json' with { type: 'json' }
import servicenow from './presets/servicenow.json' with { type: 'json' }
import splunkOnCall from './presets/splunk-on-call.json' with { type: 'json' }
import telegram from './presets/telegram.json' with { type: 'json' }

/** The keys of a channel as an owner would write them; but `settings` says what each is. */
export interface Preset {
  /** The name of the service, for people. */
  name: string
  settings?: Record<string, string>
  headers?: Record<string, string>
  [key: string]: unknown
}

/** Presets by the name that an owner writes. */
export const presets: Record<string, Preset> = {
  jsm,
  'incident-io': incidentIo,
  servicenow,
  'splunk-on-call': splunkOnCall,
  grafana,
  alertmanager,
  'google-chat': googleChat,
  discord,
  mattermost,
  telegram,
  ntfy,
  pushover,
  apprise,
}
