// Texts of this feature for the reference in docs/.
export const streamCodes = {
  cursor_unknown: {
    status: '409',
    about: 'The cursor is not from this relay, or from before its store was replaced.',
  },
  stream_unsupported: {
    status: '406',
    about: 'This host cannot keep a connection open. Poll with `wait`.',
  },
  too_many_streams: {
    status: '429',
    about: '100 streams and long polls are open, or 80 of tokens, or 20 of tokens for one fleet.',
  },
}
