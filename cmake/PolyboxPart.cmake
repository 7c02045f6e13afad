# polybox_part(PART [DEPENDS folder|part...])
#
# The layering rule of a folder below src/ that is not a library of its own: `jail/init`, `http/doors`, `warm`. Its sources
# include headers of the part itself and of what it lists, and of nothing else. Others include its headers only where their
# own line lists the part. tools/layering.py reads these lines; CMake makes nothing of them.
function(polybox_part)
endfunction()
