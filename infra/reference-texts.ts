// Descriptions for the reference tables: variables, moments, log events, error codes. If the code
// has a name without a description here, `npm run generate` fails.
import type { Moment } from '../functions/core/event/moment.ts'
import { errorCodes, logEvents } from '../functions/features/texts.ts'

interface Setting {
  /** The documentation shows this as code, unless it is empty. */
  usual: string
  about: string
}

/** Settings of the relay. They are read in functions/host and functions/config/hosts.ts. */
export const relaySettings: Record<string, Setting> = {
  PORT: {
    usual: '7071',
    about:
      'Plain Node and `npm run dev:cloudflare` only. The port to listen on. With 0 the relay uses a free one.',
  },
  HOST: {
    usual: '127.0.0.1',
    about:
      'Plain Node and `npm run dev:cloudflare` only. The address to listen on, by plain HTTP. In a container, or if the proxy is on another machine, set `0.0.0.0` or an IP address of the machine.',
  },
  FOGHORN_CONFIG: {
    usual: 'foghorn.config.json',
    about: 'The configuration file. On Cloudflare it is uploaded beside the code instead.',
  },
  FOGHORN_DATA: {
    usual: '.foghorn',
    about:
      'Plain Node and `npm run dev:cloudflare` only. The folder of the database. The relay on Node locks it: a second relay on the same folder exits.',
  },
  FOGHORN_DATABASE: {
    usual: '',
    about:
      'Plain Node only. The address of a PostgreSQL, which several relays may share, in place of the file in FOGHORN_DATA: see [two relays on PostgreSQL](install-relay-postgres.md).',
  },
  FOGHORN_DATABASE_PASSWORD: {
    usual: '',
    about: 'Plain Node only. The password of FOGHORN_DATABASE, as it is, if the address has none.',
  },
  FOGHORN_LINK_KEY: {
    usual: '',
    about:
      'Required. Signs links: base64 of at least 32 random bytes. Separate several keys by commas: the first one signs, the relay accepts all of them.',
  },
  FOGHORN_ADMIN_KEY: {
    usual: '',
    about:
      'At least 32 characters. Without it the API is off. The console is off too, unless `signIn` is set.',
  },
  FOGHORN_LOG_LEVEL: { usual: 'info', about: '`debug`, `info`, `warn` or `error`.' },
  HTTPS_PROXY: {
    usual: '',
    about:
      'Plain Node and Azure Functions only. The proxy through which the relay reaches channels, subscriptions and Entra by https. The proxy then resolves their names, and decides which addresses they may have.',
  },
  NO_PROXY: {
    usual: '',
    about: 'Hosts that the relay reaches without the proxy, by commas or blanks.',
  },
  AzureWebJobsStorage: {
    usual: '',
    about:
      'Azure Functions only. The template sets `AzureWebJobsStorage__accountName` and `__clientId`: the storage account, by the identity of the app. In other clouds set `__tableServiceUri` and `__queueServiceUri`. For local use it is a connection string.',
  },
  FOGHORN_DEVELOPMENT: {
    usual: '',
    about:
      'Cloudflare only. `npm run dev:cloudflare` sets it, and the relay then accepts `allowNetworks`. Never set it yourself.',
  },
  WEBSITE_AUTH_ENABLED: {
    usual: '',
    about:
      'Azure sets it if App Service Authentication is on. Never set it yourself. Without it, the relay does not start with `signIn`.',
  },
}

export const momentTexts: Record<Moment, string> = {
  scheduled: 'A beacon sees the event for the first time.',
  changed:
    'NotBefore, the VMs, the duration or another value changed. The message says from what to what.',
  not_ready:
    'A rule with `whenReady` or `maxConcurrent` waited in vain: people are asked. The message names the VMs and says why.',
  reminder: 'Nobody has decided, and NotBefore is as near as the route sets.',
  approved: 'A person or a rule approved the event. Azure is told, usually within seconds.',
  declined: 'A person chose *not now*.',
  stuck:
    'An approved event has not started: no beacon could tell Azure for 30 s (90 s if NotBefore is far), or Azure was told 10 min ago.',
  started:
    'The event runs. The message says if Azure gave no notice, and who had decided, if anyone.',
  completed: 'The event is over. If Foghorn inferred this, the message says from what.',
  cancelled: 'The event disappeared before its time, and nothing shows that it ran.',
  lost: 'No VM that saw the event has reported for 10 min after the event was due.',
}

/** Log events of the relay, by the name in `event`. */
export const relayEvents: Record<string, string> = {
  admin_key_wrong: 'A request had a wrong admin key, to the API or to the console (`where`).',
  admin_signed_in: 'An owner opened the console with the admin key.',
  alarm_failed:
    'Cloudflare only. The alarm for the next due time could not be set. The cron trigger looks what is due within a minute.',
  alert_failed: 'An alert could not be stored. The relay tries again when the cause occurs again.',
  azure_acknowledged:
    'The relay told Azure through Resource Manager to start an event, as no beacon had done so in 30 s, or none sees it.',
  azure_acknowledge_failed:
    'Azure Resource Manager did not take it. `error` says why, and for a missing role the command that gives it. The relay tries again each minute until NotBefore, unless that would be in vain.',
  azure_events_homeless:
    'Azure Event Grid sent `count` entries of `subscriptions`, which no fleet of the token takes. The others are stored.',
  azure_events_unreadable:
    'Azure Event Grid sent `count` entries that are no Scheduled Events as Azure documents them. The others are stored.',
  azure_inventory_failed:
    'Azure Resource Graph did not say which group, scale set and tags VMs without a beacon have. The relay asks again after 5 minutes.',
  azure_list_failed:
    'Azure Resource Graph did not list the events of the subscriptions. `error` says why. The relay asks again after 5 minutes.',
  beacon_first_heard: 'The first report of a beacon since it started.',
  beacon_left:
    'A beacon will not come back. `why`: its package was `removed`, Azure `terminated` the VM, another beacon `replaced` it, or an `owner` said so.',
  beacon_unsupported:
    'A beacon has a version that this relay does not support. Logged once per fleet and version.',
  channel_recovered: 'A channel that was in trouble accepted a message.',
  channel_refuses:
    'A channel rejects whatever it is sent. `note` is its answer. An owner has to repair it.',
  channel_removed:
    'The configuration lacks a channel that had messages of open events (`events`). If routes name another channel for them, that gets the newest message.',
  channel_tested: 'An owner sent a channel a test message. `by` says who.',
  channel_unreachable: 'A channel has not accepted a message for too long.',
  sweep_failed:
    'The relay could not take one step of what time brings. It takes the others, and tries again.',
  conclusion_failed: 'The relay could not check an event that was due. It tries again.',
  decision_refused:
    'A person without permission tried to decide an event. `who` and `permission` say why.',
  delivered: 'A channel accepted a message. For a subscription, the level is `debug`.',
  database_damaged:
    'SQLite on plain Node only. A part of the database cannot be read, or is not as it was written. The rest works. Logged once; `/healthz` says so, too. Restore a backup.',
  database_broken:
    'Plain Node only. The disk failed a write. The relay ended, so that its service starts it again.',
  database_connection_lost:
    'PostgreSQL only. A connection ended by itself, and another one takes its place. At most one line in 10 s; `count` says how many.',
  database_created:
    'Plain Node only. There was no database in FOGHORN_DATA, so the relay begins with an empty one.',
  listening_not_noted:
    'PostgreSQL only. The relay could not store that it listens. It tries again after 30 s.',
  delivery_failed: 'A message was refused or given up. `note` is the last answer.',
  delivery_lease_lost:
    'An attempt took longer than its lease, so another worker took over the message.',
  delivery_retried:
    'An attempt failed. The next one is at `nextAt`. A channel has one such line a minute; `count` says how many attempts failed since the last one.',
  delivery_set_apart:
    'A message with buttons was removed from a combined message, to be sent alone.',
  delivery_superseded: 'A message was not sent, because a later one says more.',
  drill_started: 'An owner started a drill.',
  event_concluded:
    'A due time passed and led to an end, a reminder, a stuck approval, or a step of a rule that waits.',
  event_decided: 'An approval or a *not now* is on record.',
  event_failed:
    'One event of a report could not be stored. The beacon reports it again. After a minute, the rest of the report is accepted without it.',
  event_stepped: 'A report changed an event. `moments` lists what people are notified of.',
  events_refused: 'A report had events above a limit.',
  fleet_size_unread:
    'Azure Functions only. The number of beacons could not be read. The relay uses the last one.',
  forgotten: 'Old events and beacons were removed.',
  forms_refused: 'The relay refused forms that did not come from its own pages.',
  health_failed: '`/healthz` could not read the store.',
  host_troubled: 'Azure Functions only. Wake-ups failed again and again, or the queue fails.',
  identity_keys_not_refreshed: 'The keys of an Entra tenant could not be read again.',
  links_refused: 'The relay refused links that none of its keys signed.',
  channel_health_failed: 'The health or the rate of a channel could not be written.',
  message_failed: 'A message could not be composed. The relay tries again.',
  notifier_failed: 'The code of one kind of channel failed. This is a bug; the relay tries again.',
  press_failed: 'A press of a button in Slack or Teams could not be handled.',
  press_refused: 'A press of a button in Slack or Teams had no effect. `reason` says why.',
  proxy_entry_ignored:
    'If `NO_PROXY` has an entry that is neither a name nor an address, such as a network, the relay ignores it.',
  principal_ignored:
    'The relay ignored a sign-in: it is malformed, or of another tenant (`reason`).',
  job_failed:
    'A regular job, such as removing old events, failed. The others go on, and it runs again in 10 s.',
  loop_failed: 'One round of sending failed. The next one follows.',
  queue_failed: 'Azure Functions only. The queue of wake-ups does not answer.',
  reroute_failed:
    'After a change of routes or channels, an open event could not be sent to new channels. Its next message goes there.',
  relay_clock_right: "The relay's clock agrees with the clocks of most VMs of the fleet again.",
  relay_clock_wrong:
    "The relay's clock differs from the clocks of most VMs of the fleet, by `aheadSeconds` (negative: it is behind). Switch on the time synchronization of its machine.",
  relay_halted:
    'Plain Node and Cloudflare only. The process was suspended, or its clock was set. The silence of beacons counts from here.',
  relay_misconfigured:
    'Azure Functions and Cloudflare only. The settings are wrong, and the line says how.',
  relay_started: 'The relay is ready.',
  relay_stopped: 'Plain Node only. The relay has stopped.',
  replayed: 'An owner or a token sent failed messages again. `by` says who.',
  report_failed:
    'Azure Functions only. A report was answered 503, as the storage or the instance was slow, and then failed.',
  report_refused:
    'Reports were refused. `code`, `detail` and `fleet` say why. `vm` is present if the sender was authenticated.',
  reports_refused:
    'Azure Functions only. Reports were answered 503, as the storage did not answer a call for 4 s (`storage_unavailable`), or as the instance had more reports than it can work on (`relay_overloaded`). `underWay`: how many it worked on.',
  request_answered: 'Azure Functions only. A request and its status.',
  request_failed: 'A request met an unexpected error. The sender got 500.',
  requests_broken_off:
    'Senders disconnected in the middle of a body. This is not an error of the relay.',
  settle_failed: 'The result of an attempt could not be written. The message may be sent again.',
  teams_acknowledged: 'Teams sent something that needs no action.',
  teams_refused: 'Requests to `/teams/messages` with a wrong token or form.',
  slack_acknowledged: 'Slack sent something that needs no action.',
  slack_refused: 'Requests to `/slack/interactions` with a wrong signature, time or form.',
  slack_reply_failed: 'The answer to a press did not reach Slack. The decision is stored.',
  config_refused:
    'The relay was asked to read its configuration again, and keeps the old one: `mistakes` says why.',
  config_not_ended: 'After a reload, the work of the old configuration did not end as it should.',
  config_reloaded: 'The relay took a new configuration.',
  ...logEvents,
  token_created:
    'An owner, or a token with `manage`, made a token. `by` says who. `id` and `name` are those of the new token.',
  token_refused:
    'A request had a token that is `unknown` or `expired` (`reason`). `token` names an expired one.',
  token_revoked: 'A token was revoked. `by` says who did it.',
  token_signed_in:
    'Somebody opened the console with a token. `token` names it. A token has one such line a second; `count` says how many sign-ins there were since the last one.',
  token_use_failed: 'The last use of a token could not be noted. The request was answered.',
  wake_message_unknown:
    'Azure Functions only. The queue contained a message that is not a wake-up.',
  wake_up_failed:
    'Azure Functions only. The queue took no wake-up. The timer looks within a minute.',
  wake_up_set: 'Azure Functions only. The next wake-up was put into the queue.',
  woken: 'Azure Functions only. A wake-up arrived.',
}

/** Log events of the beacon, by the name in `event`. */
export const beaconEvents: Record<string, string> = {
  beacon_failed: 'The beacon failed, and exits with code 1.',
  beacon_started: 'IMDS has identified the VM.',
  beacon_stopped: 'The beacon stopped on a signal.',
  boot_retired:
    'Another beacon reports for this VM, or the VM was restored from a copy. The beacon takes a new boot id.',
  directive_received: 'The relay asks this beacon to start an event.',
  document_odd: 'The document of IMDS has something unexpected. The beacon reads the rest.',
  document_too_large:
    'Not all events of the document fit into a report, so the relay does not see `leftOut` of them. It still receives their changes. Logged once.',
  entries_readable: 'All entries of `Events` can be read again.',
  entries_unreadable: 'Entries of `Events` could not be read.',
  event_changed: 'An event changed a value or its status.',
  event_gone: 'The document no longer shows an event.',
  event_refused: 'The relay did not store an event. `reason` says why. Logged once per event.',
  event_seen: 'The document shows an event for the first time.',
  goodbye_sent:
    'The beacon stops, and sent the relay a last report. `goodbye` is the reason. If the relay did not accept it, it notices the silence.',
  hook_due: 'The beacon asks the runner for a hook. `reason` says why now.',
  hook_failed: 'A hook exited with another code than 0, or was killed at its limit.',
  hook_interrupted: 'A hook was ended because its runner stops. The beacon asks for it again.',
  hook_output: 'A line of the output of a hook.',
  hook_output_cut: 'A hook wrote more than the log takes. Later lines are dropped.',
  hook_question_refused:
    'A program on this VM sent the runner a request that the runner does not understand.',
  hook_refused: 'The runner does not run this file. `reason` says why, and what to do.',
  kubernetes_failed:
    'The drain cannot reach the API server, or lacks a right. `reason` says which.',
  kubernetes_note_failed:
    'The drain could not write a condition or an event of the node. The drain itself goes on.',
  kubernetes_reached: 'The API server answers the drain again.',
  hook_runner_absent: 'No runner of hooks answers. Ignore this if the VM has no hooks.',
  hook_runner_failed: 'The runner of hooks failed, and exits with code 1.',
  hook_runner_lost: 'The connection to the runner of hooks ended. The beacon connects again.',
  hook_runner_reached: 'The beacon is connected to the runner of hooks.',
  hook_runner_started: 'The runner of hooks is ready, and says which hooks it found.',
  hook_runner_stopped: 'The runner of hooks stopped on a signal.',
  hook_socket_skipped:
    'The runner within the beacon cannot make its socket. Hooks run, but `check` does not see them.',
  hook_started: 'A hook runs. `limitSeconds` is its limit.',
  hook_held:
    'Something else holds up the hook that runs: `held` says what. Empty: nothing does any more.',
  hook_state: 'A hook has a new state, as reports show it.',
  hook_state_damaged:
    'The state of hooks on the disk could not be read. The beacon starts without it.',
  hook_state_write_failed:
    'The state of hooks could not be written to the disk. The beacon continues in memory.',
  hook_succeeded: 'A hook exited with code 0.',
  imds_failing: 'IMDS fails. `reason` says how. Logged once, until it changes.',
  imds_recovered: 'IMDS answers again.',
  imds_version_refused: 'IMDS refused an api-version. The beacon asks for an older one.',
  imds_version_restored: 'IMDS accepts the newer api-version again.',
  item_given_up: 'A change that the relay refused again and again was dropped.',
  poll_failed: 'One poll of IMDS failed.',
  relay_failing: 'Reports fail. `reason` says how. Logged once, until it changes.',
  relay_reached: 'The relay has taken the first report: the beacon works.',
  relay_recovered: 'The relay takes reports again.',
  report_accepted: 'One report was accepted.',
  report_failed: 'One report failed.',
  spool_damaged: 'The state file could not be read, and was moved aside.',
  spool_full: 'More than 1,000 changes wait for the relay. The oldest were dropped.',
  spool_item_unreadable: 'A change in the state file could not be read.',
  spool_write_failed: 'Changes could not be written to the disk. The beacon continues in memory.',
  start_requested: 'The beacon asked Azure to start an event, or says why it did not.',
  state_dir_unusable: 'The state directory cannot be used. The beacon runs in memory.',
  state_of_another_vm:
    'The state directory was written by another VM, so the disk is a copy. What waited there was dropped.',
  state_owner_unwritten:
    'The beacon could not write the id of its VM into the state directory. It would not notice a copy.',
  token_failing: 'IMDS gives no token.',
  token_received: 'IMDS gave a new token.',
  token_recovered: 'IMDS gives tokens again.',
}

interface Code {
  status: string
  about: string
}

/** Codes of `application/problem+json`. */
export const problemCodes: Record<string, Code> = {
  admin_only: { status: '403', about: 'Only the admin key may do this. A token may not.' },
  already_approved: { status: '409', about: 'The event was approved before. Nothing changed.' },
  already_declined: { status: '409', about: '*Not now* was on record before.' },
  too_many_vms: {
    status: '409',
    about: 'The event affects more than 200 VMs, so Azure alone decides.',
  },
  nothing_to_decide: {
    status: '409',
    about: 'The event is advice, such as `SpotRebalanceRecommendation`: nobody can decide it.',
  },
  api_off: { status: '403', about: 'The relay was started without `FOGHORN_ADMIN_KEY`.' },
  azure_event_malformed: {
    status: '400',
    about:
      'The body has no Scheduled Event as Azure Event Grid sends it. Azure keeps it as a dead letter.',
  },
  azure_subscription_unknown: {
    status: '403',
    about: 'No fleet of the token takes events of the subscription that the detail names.',
  },
  beacon_unknown: { status: '404', about: 'The fleet has no such beacon.' },
  beyond_own_rights: {
    status: '403',
    about: 'A token cannot make a token with a scope that it lacks, or with a later end.',
  },
  body_broken_off: { status: '400', about: 'The body is incomplete. Send the request again.' },
  body_too_large: { status: '413', about: 'The detail gives the limit.' },
  boot_retired: { status: '409', about: 'A newer boot id of this VM has reported.' },
  busy: {
    status: '503',
    about:
      'Too many requests changed the event at once, or too many large reports of the fleet wait. Send the request again.',
  },
  calendar_only: {
    status: '403',
    about: 'The address of the calendar takes only a token with the one scope `calendar`.',
  },
  channel_unknown: { status: '404', about: 'The configuration has no such channel.' },
  check_malformed: { status: '400', about: 'The detail lists what is wrong with the request.' },
  clock_outside_tolerance: {
    status: '401',
    about: 'The timestamp is more than 5 min off. `time` is the clock of the relay.',
  },
  decision_malformed: { status: '400', about: 'The body is not a valid decision.' },
  drill_malformed: { status: '400', about: 'The detail lists what is wrong with the drill.' },
  ended: { status: '409', about: 'The event is over.' },
  event_unknown: { status: '404', about: 'The fleet has no such event.' },
  fleet_unknown: {
    status: '401, 404, 422',
    about:
      'The configuration has no such fleet (401 to a report, 404 in the API, 422 in the filter of a subscription).',
  },
  storage_unavailable: {
    status: '503',
    about: 'The storage of the relay fails. Send the request again.',
  },
  relay_overloaded: {
    status: '503',
    about:
      'Azure Functions only. The instance has more reports than it can work on at a time. Send the request again.',
  },
  identity_unavailable: {
    status: '503',
    about: 'The keys of the tenant, or of the Bot Connector, cannot be read now.',
  },
  internal: { status: '500', about: 'The relay failed. Its log says why.' },
  misconfigured: { status: '503', about: 'The settings are wrong. The log says which.' },
  not_found: { status: '404', about: 'There is no such address, or `slackApp` is missing.' },
  outside_tolerance: {
    status: '401',
    about: 'The time of a press from Slack is more than 5 min off the clock of the relay.',
  },
  activity_malformed: { status: '400', about: 'The activity is not one of a pressed button.' },
  payload_malformed: { status: '400', about: 'The payload is not one that Slack sends.' },
  payload_missing: { status: '400', about: 'The form has no `payload`.' },
  query_invalid: { status: '400', about: 'A parameter of the address is wrong.' },
  replay_malformed: { status: '400', about: 'The body is not a valid replay.' },
  report_malformed: { status: '400', about: 'The detail lists what is wrong with the report.' },
  scope_missing: { status: '403', about: 'The token lacks the scope that the detail names.' },
  signature_invalid: {
    status: '401',
    about: 'The signature is wrong, or the report has neither a signature nor a token.',
  },
  signature_missing: { status: '401', about: 'A request to `/slack/interactions` is not signed.' },
  started: { status: '409', about: 'The event has started.' },
  test_too_soon: { status: '429', about: 'The channel got another test less than 10 s ago.' },
  token_invalid: { status: '401', about: 'The detail names the claim that was refused.' },
  ...errorCodes,
  token_malformed: { status: '400', about: 'The detail lists what is wrong with the token.' },
  token_unknown: { status: '404', about: 'There is no such token.' },
  data_damaged: {
    status: '500',
    about:
      'A part of the database cannot be read, or is not as it was written. The rest works. Restore a backup.',
  },
  too_many_beacons: {
    status: '409',
    about: 'The fleet has 50,000 beacons, and this one is new.',
  },
  too_many_drills: { status: '429', about: 'The fleet has three open drills.' },
  too_many_requests: {
    status: '429',
    about:
      '100 requests with this credential wait already; or it made 60 requests in a minute that send something to an endpoint, or 6 drills in 10 minutes.',
  },
  too_many_tokens: {
    status: '409',
    about: 'There are 1,000 tokens, or 200 for the fleets of their maker.',
  },
  too_many_wrong_keys: { status: '429', about: 'Ten wrong keys in a minute. Right ones work.' },
  unauthorized: { status: '401', about: 'The key is missing or wrong, or the token has expired.' },
}
