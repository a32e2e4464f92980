# What a build makes before the compiler runs. clang-tidy (./dev lint) needs it and nothing else of a build: the target made_sources.

add_custom_target(made_sources)

# octet_made(NAME files...): outputs of custom commands of the same folder. Through a target of their own they wait for no other.
function(octet_made name)
  add_custom_target(${name} DEPENDS ${ARGN})
  add_dependencies(made_sources ${name})
endfunction()
