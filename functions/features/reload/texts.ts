// Texts of this feature for the reference in docs/.
export const reloadCodes = {
  config_refused: {
    status: '409',
    about:
      'The new configuration has mistakes, which the detail lists. The relay keeps the old one.',
  },
  reload_unsupported: {
    status: '501',
    about: 'This host cannot read its configuration again. The detail says what to do instead.',
  },
}
