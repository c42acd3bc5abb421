// @ts-check
/* The icons: paths on a 24 by 24 grid. */

export const ICONS = {
  ask: "M4 5.5c3-1.4 5.5-1.2 8 .6 2.5-1.8 5-2 8-.6v13c-3-1.4-5.5-1.2-8 .6-2.5-1.8-5-2-8-.6zM12 6.1v13",
  close: "M6 6l12 12M18 6 6 18",
  again: "M12 5v14M5 12h14",
  send: "M12 19V5m-6 6 6-6 6 6",
  stop: "M8 8h8v8H8z",
  copy: "M9 9V5h10v10h-4M5 9h10v10H5z",
  up: "M7 11v9H4v-9zm0 0 4-7c1.5 0 2 1 2 2v4h5.5c1 0 1.7 1 1.4 2l-1.6 6.6c-.2.8-.9 1.4-1.8 1.4H7",
  down: "M7 13V4H4v9zm0 0 4 7c1.5 0 2-1 2-2v-4h5.5c1 0 1.7-1 1.4-2l-1.6-6.6C18.1 4.6 17.4 4 16.5 4H7",
};
