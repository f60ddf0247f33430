# Opens one page. Arguments: the directory of the run, where the file goes (empty when the document is wanted), then the
# browser with its own arguments. What the browser prints and says lies in files until it has ended: it ends with 0 also
# when it has shown an error page of its own, and fills its error stream with what is no matter of the page.
dir=$1 to=$2
shift 2
# A launcher may be there without its browser.
"$1" --version >/dev/null 2>&1 || exit NO_BROWSER
mkdir -p "$dir"
"$@" >"$dir/document" 2>"$dir/said"
code=$?

complain() {
    grep -v dbus "$dir/said" | tail -c 2000 >&2
    exit "$1"
}

why=$(sed -n 's/.*Page load failed: //p' "$dir/said" | head -n 1)
if [ -z "$why" ] && grep -q 'id="main-frame-error"' "$dir/document"; then
    why=$(grep -o '"errorCode":"[A-Z_0-9 ]*"' "$dir/document" | head -n 1 | cut -d '"' -f 4)
    why=${why:-an error page}
fi
if [ -n "$why" ]; then
    printf '%s' "$why" >&2
    exit NOT_LOADED
fi
[ "$code" = 0 ] && [ -s "$dir/document" ] || complain NOT_TAKEN
if [ -z "$to" ]; then
    exec cat "$dir/document"
fi
[ -s "$dir/page.${to##*.}" ] || complain NOT_TAKEN
# A link in that place is replaced and not followed.
{ mkdir -p "${to%/*}" && mv -fT -- "$dir/page.${to##*.}" "$to"; } 2>"$dir/said" || complain NOT_TAKEN
