// Who may decide, and who may see the console: people by their ids in Entra or in a service with buttons, and
// groups by theirs. Names and addresses can change owner. Sign-in, or the service, proves who a person is.
import { buttonServices } from '../notify/registry.ts'
import { guid, object, textBy } from '../schema/checks.ts'

const guidForm = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const ofServices = buttonServices.flatMap(({ how, person }) => (person ? { how, ...person } : []))
const forms = [...ofServices, { how: 'entra', form: `${guidForm}/${guidForm}` }]
const approverForm = new RegExp(`^(?:${forms.map(({ how, form }) => `${how}:${form}`).join('|')})$`)

const approverRule =
  `write ${ofServices.map(({ rule }) => `${rule}, or `).join('')}"entra:TENANT/USER" ` +
  "with the tenant's GUID and the user's object id; names and e-mail addresses are not accepted"
export const approversRule =
  'write a list of 1 to 100 people, or leave it out: then anyone with the link can decide'

/** `slack:team/user`, and so on. */
export const approverForms = [
  ...ofServices.map(({ how, written }) => `\`${how}:${written}\``),
  '`entra:tenant/object id`',
].join(', ')

/** One person. Entra ids are returned in lower case. */
export const approver = textBy(approverRule)
  .transform((text) => (text.toLowerCase().startsWith('entra:') ? text.toLowerCase() : text))
  .refine((text) => approverForm.test(text), { error: approverRule })

export const viewersRule =
  'write a list of 1 to 100 people or groups, or leave it out: then only the admin key and tokens open the console'
const viewerRule =
  'write "entra:TENANT/USER" or "entra-group:TENANT/GROUP", with the GUIDs of the tenant and of the person or group'
const viewerForm = new RegExp(`^entra(?:-group)?:${guidForm}/${guidForm}$`)

/** One person, or all members of a group. Returned in lower case. */
export const viewer = textBy(viewerRule)
  .transform((text) => text.toLowerCase())
  .refine((text) => viewerForm.test(text), { error: viewerRule })

const tenantRule = 'write the GUID of the tenant whose people sign in'

export const signInSchema = object({
  tenantId: guid(tenantRule).describe('The tenant whose people sign in.'),
})
