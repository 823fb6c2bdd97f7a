// Texts of this feature for the reference in docs/.
export const backupEvents = {
  backup_made: 'An owner made a copy of the database, by `npm run backup` or the API.',
}

export const backupCodes = {
  backup_busy: { status: '503', about: 'Another backup is being made. Try again later.' },
  backup_unsupported: {
    status: '501',
    about: 'This host has no file to copy. The detail says what to do instead.',
  },
  disk_full: {
    status: '507',
    about: 'The disk of the relay has no room. A backup needs as much as the database.',
  },
}
