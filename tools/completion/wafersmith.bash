# Completion for bash: options of the tool itself (from its --help, so they are those of its version), machines behind -m,
# file names elsewhere.
_wafersmith() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  case $before in
    -m | --machine) mapfile -t COMPREPLY < <(compgen -W "wse2 wse3" -- "$word"; compgen -f -- "$word") ;;
    --autotune) mapfile -t COMPREPLY < <(compgen -W "off default max" -- "$word") ;;
    --epilogue-fusion) mapfile -t COMPREPLY < <(compgen -W "estimate always benchmark never" -- "$word") ;;
    --autogen-policy) mapfile -t COMPREPLY < <(compgen -W "disabled default medium aggressive" -- "$word") ;;
    *)
      if [[ $word == -* ]]; then
        local options
        options=$("${COMP_WORDS[0]}" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[A-Za-z][A-Za-z0-9-]*' | tr -d ' ,' | sort -u)
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
      fi
      ;;
  esac
}
complete -o filenames -F _wafersmith cs-compile cs-sim cs-objdump cs-regress cs-sweep cs-cache cslc csl-fmt csl-lsp
