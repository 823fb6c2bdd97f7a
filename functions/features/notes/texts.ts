// Texts of this feature for the reference in docs/.
export const noteEvents = {
  owner_note_written: 'Somebody wrote or removed the note of an event. `by` says who.',
}

export const noteCodes = {
  note_malformed: { status: '400', about: 'The detail lists what is wrong with the note.' },
}
