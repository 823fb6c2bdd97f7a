// Texts of this feature for the reference in docs/.
export const muteEvents = {
  mute_added: 'Somebody muted events of a fleet. `by` says who, `until` until when.',
  mute_ended: 'Somebody ended a mute before its time. `by` says who.',
}

export const muteCodes = {
  mute_malformed: { status: '400', about: 'The detail lists what is wrong with the mute.' },
  mute_too_far_ahead: { status: '422', about: 'The mute would begin more than 30 days ahead.' },
  mute_unknown: { status: '404', about: 'There is no such mute, or it is over.' },
  too_many_mutes: {
    status: '409',
    about: 'The fleet has 20 mutes, or there are 100 in all. End some.',
  },
}
